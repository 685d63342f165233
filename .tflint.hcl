# The ruleset is the one that tflint brings along: nothing is downloaded.
config {
  # Each module is looked at by itself; a module's calls are checked where it is called.
  call_module_type = "none"
}

plugin "terraform" {
  enabled = true
  preset  = "recommended"
}

rule "terraform_documented_outputs" {
  enabled = true
}

rule "terraform_documented_variables" {
  enabled = true
}

rule "terraform_naming_convention" {
  enabled = true
}

rule "terraform_standard_module_structure" {
  # The files of a module are named by concern, as its parts are.
  enabled = false
}
