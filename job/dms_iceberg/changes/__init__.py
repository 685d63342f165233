"""One clean change: normalised, mapped to silver columns, typed, judged by filter and rules, masked."""
