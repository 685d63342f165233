terraform {
  required_version = ">= 1.9"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.100, < 7.0"
    }
  }
}

# The account of the database: DMS, trigger and job run here.
provider "aws" {}

# The account of the lake: buckets, key and catalog.
provider "aws" {
  alias = "lake"

  assume_role {
    role_arn = var.lake_role_arn
  }
}
