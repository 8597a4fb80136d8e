# Installs the man pages and the completion, printed by the program that was built.
# RECIBO is that program.
set(root "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share")
execute_process(COMMAND "${RECIBO}" help --man OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
string(STRIP "${names}" names)
string(REPLACE "\n" ";" names "${names}")
file(MAKE_DIRECTORY "${root}/man/man1" "${root}/bash-completion/completions")
foreach(name IN LISTS names)
  set(page "recibo-${name}.1")
  if(name STREQUAL "recibo")
    set(page "recibo.1")
  endif()
  message(STATUS "Installing: ${root}/man/man1/${page}")
  execute_process(COMMAND "${RECIBO}" help --man "${name}" OUTPUT_FILE "${root}/man/man1/${page}"
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
message(STATUS "Installing: ${root}/bash-completion/completions/recibo")
execute_process(COMMAND "${RECIBO}" help --completion bash
  OUTPUT_FILE "${root}/bash-completion/completions/recibo" COMMAND_ERROR_IS_FATAL ANY)
