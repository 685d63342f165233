# What cannot work is refused at plan.

mock_provider "aws" {}

variables {
  name   = "shop"
  engine = "postgres"
  family = "postgres16"
}

run "name" {
  command = plan
  variables {
    name = "Shop_1"
  }
  expect_failures = [var.name]
}

run "engine" {
  command = plan
  variables {
    engine = "oracle"
  }
  expect_failures = [var.engine]
}

run "family_of_another_engine" {
  command = plan
  variables {
    family = "aurora-postgresql16"
  }
  expect_failures = [var.family]
}

run "family_without_minor_version" {
  command = plan
  variables {
    engine = "mysql"
    family = "mysql8"
  }
  expect_failures = [var.family]
}

run "family_too_old" {
  command = plan
  variables {
    family = "postgres10"
  }
  expect_failures = [var.family]
}

run "parameter_that_the_module_owns" {
  command = plan
  variables {
    parameters = { "binlog_format" = { value = "MIXED" } }
  }
  expect_failures = [var.parameters]
}

run "apply_method" {
  command = plan
  variables {
    parameters = { "work_mem" = { value = "65536", apply_method = "now" } }
  }
  expect_failures = [var.parameters]
}

run "plugin" {
  command = plan
  variables {
    plugin = "wal2json"
  }
  expect_failures = [var.plugin]
}

run "slots" {
  command = plan
  variables {
    max_replication_slots = 1
  }
  expect_failures = [var.max_replication_slots]
}

run "fewer_senders_than_slots" {
  command = plan
  variables {
    max_wal_senders = 10
  }
  expect_failures = [var.max_wal_senders]
}

run "logical_workers" {
  command = plan
  variables {
    max_logical_replication_workers = 2
  }
  expect_failures = [var.max_logical_replication_workers]
}

run "too_few_worker_processes" {
  command = plan
  variables {
    max_worker_processes = "12"
  }
  expect_failures = [var.max_worker_processes]
}

run "wal_sender_timeout" {
  command = plan
  variables {
    wal_sender_timeout_ms = 5000
  }
  expect_failures = [var.wal_sender_timeout_ms]
}

run "bound_of_the_slot_in_aurora" {
  command = plan
  variables {
    engine                    = "aurora-postgresql"
    family                    = "aurora-postgresql16"
    max_slot_wal_keep_size_mb = 10240
  }
  expect_failures = [var.max_slot_wal_keep_size_mb]
}

run "bound_of_the_slot_too_small" {
  command = plan
  variables {
    max_slot_wal_keep_size_mb = 64
  }
  expect_failures = [var.max_slot_wal_keep_size_mb]
}

run "retention" {
  command = plan
  variables {
    engine                 = "mysql"
    family                 = "mysql8.4"
    binlog_retention_hours = 720
  }
  expect_failures = [var.binlog_retention_hours]
}

run "user" {
  command = plan
  variables {
    user = "dms'; drop"
  }
  expect_failures = [var.user]
}

run "no_rds_superuser_and_pglogical" {
  command = plan
  variables {
    capture_ddls     = false
    artifacts_schema = "Aws-DMS"
    tables           = ["orders", "public.a$x$b"]
  }
  expect_failures = [var.capture_ddls, var.artifacts_schema, var.tables]
}
