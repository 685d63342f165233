"""What only a machine without AWS needs: Java, jars, PostgreSQL, the DMS emulator and the demo."""
