# https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Tasks.CustomizingTasks.TaskSettings.html
# Only settings that DMS gives back when asked stand here: any other would be a difference at every plan (provider issue 45376).

locals {
  lob_max_size_kb = coalesce(var.lob_max_size_kb, local.is_postgres ? 63 : 1024)

  task_settings = {
    TargetMetadata = {
      # Full LOB mode does not exist for S3, and batch apply may lose changes there.
      SupportLobs        = true
      FullLobMode        = false
      LimitedSizeLobMode = true
      LobMaxSize         = local.lob_max_size_kb
      BatchApplyEnabled  = false
    }

    FullLoadSettings = {
      # The other modes delete the table's objects, changes included.
      TargetTablePrepMode             = "DO_NOTHING"
      MaxFullLoadSubTasks             = var.max_full_load_subtasks
      TransactionConsistencyTimeout   = 600
      StopTaskCachedChangesApplied    = false
      StopTaskCachedChangesNotApplied = false
      # DMS sets aside the largest LOB times the rows of a commit for each LOB column: no more than it does with 63 KB.
      CommitRate = max(100, min(10000, floor(630000 / local.lob_max_size_kb)))
    }

    ChangeProcessingDdlHandlingPolicy = {
      # True deletes the table's files from the bucket when the source table is dropped or truncated.
      HandleSourceTableDropped   = false
      HandleSourceTableTruncated = false
      HandleSourceTableAltered   = true
    }

    ChangeProcessingTuning = merge({
      MemoryLimitTotal   = 1024
      MemoryKeepTime     = 60
      MinTransactionSize = 1000
      CommitTimeout      = 1
      StatementCacheSize = 50
    }, var.change_processing_tuning)

    ControlTablesSettings = {
      ControlSchema               = ""
      SuspendedTablesTableEnabled = true
      StatusTableEnabled          = false
      HistoryTableEnabled         = false
    }

    ErrorBehavior = {
      # DMS's defaults log a row that it cannot process, and go on without it.
      DataErrorPolicy            = var.data_error_policy
      DataTruncationErrorPolicy  = "STOP_TASK"
      DataErrorEscalationPolicy  = "SUSPEND_TABLE"
      ApplyErrorDeletePolicy     = "SUSPEND_TABLE"
      ApplyErrorInsertPolicy     = "SUSPEND_TABLE"
      ApplyErrorUpdatePolicy     = "SUSPEND_TABLE"
      ApplyErrorEscalationPolicy = "SUSPEND_TABLE"
      TableErrorPolicy           = "SUSPEND_TABLE"
      TableErrorEscalationPolicy = "STOP_TASK"
      # A TRUNCATE reaches no file: stop, rather than leave silver with rows that the source has not.
      ApplyErrorFailOnTruncationDdl = true
      FailOnNoTablesCaptured        = true
      FullLoadIgnoreConflicts       = true
      # The source may be away for a long maintenance; it keeps the changes, and an alarm tells of the latency.
      RecoverableErrorCount                       = -1
      RecoverableErrorInterval                    = 5
      RecoverableErrorThrottling                  = true
      RecoverableErrorThrottlingMax               = 1800
      RecoverableErrorStopRetryAfterThrottlingMax = false
    }

    ValidationSettings = {
      EnableValidation = false
    }

    Logging = {
      EnableLogging = true
    }
  }
}
