"""What moto 5.2.5 lacks for the AWS provider of Terraform, and for the trigger and the job to run on it.

moto answers for AWS in the tests. Where it has no answer, or one that the provider cannot read, a module here gives one; each says
why it is there. Such answers are ours, written to please the provider: a test that only sees its own words come back from them
proves that a value travels through Terraform and back, and nothing about AWS. docs/deploy.md lists which those are.

`close_gaps` patches the moto of this process, so it is called before the server starts, and the server runs in this process.
"""

import functools
import os


@functools.cache
def close_gaps() -> None:
    """Patch the moto of this process, once."""
    # moto reads it when its IAM is imported: attachments of AWS's own policies fail without it.
    os.environ.setdefault("MOTO_IAM_LOAD_MANAGED_POLICIES", "true")
    from support.moto_gaps import (
        dms_endpoints,
        dms_networks,
        dms_serverless,
        dms_tasks,
        ec2,
        emr_serverless,
        events,
        glue_catalog,
        glue_jobs,
        guards,
        iam,
        lake_formation,
        lambda_functions,
        permissions,
        rds,
        s3,
        sqs,
    )

    parts = (
        dms_networks,
        dms_endpoints,
        dms_tasks,
        dms_serverless,
        ec2,
        emr_serverless,
        events,
        glue_catalog,
        glue_jobs,
        guards,
        iam,
        lake_formation,
        lambda_functions,
        permissions,
        rds,
        s3,
        sqs,
    )
    for part in parts:
        part.close_gaps()
