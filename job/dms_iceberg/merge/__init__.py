"""What a batch makes of a table's rows, by mode, and the statements that write it."""
