(method name: (_) @name) @function
(method name: (_) @name body: (_) @body) @function
(singleton_method name: (_) @name) @function
(singleton_method name: (_) @name body: (_) @body) @function
(class name: (_) @name) @class
(class name: (_) @name body: (_) @body) @class
(module name: (_) @name) @module
(module name: (_) @name body: (_) @body) @module
(assignment left: (constant) @name right: (call block: (do_block body: (_ [(method) (singleton_method)])) @body)) @class

(assignment left: (constant) @constant)
(call method: (identifier) @_word arguments: (argument_list (simple_symbol) @constant)
  (#set! when "^attr_(reader|writer|accessor)$"))

(superclass [(constant) @inherit (scope_resolution name: (constant) @inherit)])
(call method: (identifier) @_word
  arguments: (argument_list [(constant) @inherit (scope_resolution name: (constant) @inherit)])
  (#set! when "^(include|extend|prepend)$"))

(call method: [(identifier) (constant)] @call)
(call receiver: [(constant) @call (scope_resolution name: (constant) @call)] method: (identifier) @_word
  (#set! when "^new$"))

(comment) @comment
(call !receiver method: (identifier) @_word arguments: (argument_list (string))
  (#set! when "^(require|require_relative|load|autoload)$")) @import

; A class or module whose end is missing.
(ERROR "class" . [(constant) (scope_resolution)] @name) @class
(ERROR "module" . [(constant) (scope_resolution)] @name) @module
