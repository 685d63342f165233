terraform {
  # 1.11 knows write-only arguments: the password is in neither state nor plan.
  required_version = ">= 1.11"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.100, < 7.0"
    }
  }
}

provider "aws" {
  default_tags {
    tags = { project = local.name }
  }
}
