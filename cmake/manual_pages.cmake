# Writes gangway.1, and gangway-COMMAND.1 for each command that `gangway help` lists:
# cmake -DGANGWAY=BINARY -DFOLDER=DIR -P manual_pages.cmake
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
execute_process(COMMAND ${GANGWAY} help OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\n  [a-z]+ " commands "${help}")
foreach(command ${commands})
  string(STRIP ${command} command)
  execute_process(COMMAND ${GANGWAY} help --man ${command}
    OUTPUT_FILE ${FOLDER}/gangway-${command}.1 COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(COMMAND ${GANGWAY} help --man OUTPUT_FILE ${FOLDER}/gangway.1
  COMMAND_ERROR_IS_FATAL ANY)
