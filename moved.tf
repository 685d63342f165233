# Stacks whose root module called the pipeline as a module of its own. A module that is called cannot become the one that calls: so each
# part moves by itself.
moved {
  from = module.pipeline.module.lake
  to   = module.lake
}

moved {
  from = module.pipeline.module.network
  to   = module.network
}

moved {
  from = module.pipeline.module.replication
  to   = module.replication
}

moved {
  from = module.pipeline.module.merge_job
  to   = module.merge_job
}

moved {
  from = module.pipeline.module.emr_serverless
  to   = module.emr_serverless
}

moved {
  from = module.pipeline.module.trigger
  to   = module.trigger
}

moved {
  from = module.pipeline.module.observability
  to   = module.observability
}

moved {
  from = module.pipeline.aws_s3_object.destroy_guard
  to   = aws_s3_object.destroy_guard
}
