"""Details of rejected rows that other places than the one which rejects them must know. Pure."""

from typing import Final

AFTER_REPAIR: Final = "it came after a repair (verify --repair), which has what the source had of its key then"
OLD_KEY_REPAIRED: Final = "it came after a repair (verify --repair), which has what the source had then of the key that its row left"
LOST_TO_REPAIR: Final = frozenset({AFTER_REPAIR, OLD_KEY_REPAIRED})
"""Silver has what a repair wrote for the keys of such rows, and no replay applies them."""
