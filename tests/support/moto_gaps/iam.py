"""AWS's own policies: moto makes all 1,400 for each account, and again with each reset. Here it has those that the modules attach."""

import json

from moto.iam import models


def close_gaps() -> None:
    """Leave out what no module attaches; attaching one that is left out fails, as that of one that AWS does not have."""
    every = json.loads(models.aws_managed_policies_data)
    models.aws_managed_policies_data = json.dumps({name: policy for name, policy in every.items() if name.startswith("AmazonDMS")})
