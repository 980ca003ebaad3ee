(function_definition name: (_) @name body: (_) @body) @function

(program (variable_assignment name: (variable_name) @constant))
(program (declaration_command (variable_assignment name: (variable_name) @constant)))

(command name: (command_name (word) @call))

(comment) @comment
(command name: (command_name (word) @_source) argument: (_)
  (#match? @_source "^(source|\\.)$")) @import
