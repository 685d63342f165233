"""What a silver table remembers of its configuration: key, cleaning, masks, and the columns that its files have had."""
