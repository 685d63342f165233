"""How DMS writes a source's values: its types, and the text of each value. One definition for the job, `verify` and the emulator."""
