(function_definition name: (_) @name body: (_) @body) @function

(program (variable_assignment name: (variable_name) @constant))
(program (declaration_command (variable_assignment name: (variable_name) @constant)))

(command name: (command_name (word) @call))

(comment) @comment
(command name: (command_name (word) @_word) argument: (_)
  (#set! when "^(source|\\.)$")) @import
