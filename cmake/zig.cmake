# Toolchain: the C++ compiler in the wheel `ziglang`, where the system has none. THALWEG_ZIG_TARGET
# names another system to compile for, such as aarch64-linux-gnu.
set(THALWEG_ZIG ON)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES THALWEG_ZIG_PYTHON THALWEG_ZIG_TARGET)
if(NOT THALWEG_ZIG_PYTHON)
  set(THALWEG_ZIG_PYTHON "${Python_EXECUTABLE}")
endif()

execute_process(
  COMMAND "${THALWEG_ZIG_PYTHON}" "${CMAKE_CURRENT_LIST_DIR}/zig_target.py"
  OUTPUT_VARIABLE zig OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
list(POP_BACK zig here)

set(CMAKE_CXX_COMPILER "${zig}" c++)
# With a target CMake's checks do not link: for a program Zig would first compile its C++ library.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
if(THALWEG_ZIG_TARGET)
  set(CMAKE_CXX_COMPILER_TARGET ${THALWEG_ZIG_TARGET})
  set(CMAKE_SYSTEM_NAME Linux)
  string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR "${THALWEG_ZIG_TARGET}")
else()
  set(CMAKE_CXX_COMPILER_TARGET ${here})
endif()
# Archives are written by Zig, too: CMAKE_AR cannot have arguments.
set(CMAKE_AR "${zig}")
set(CMAKE_CXX_ARCHIVE_CREATE "<CMAKE_AR> ar qc <TARGET> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_APPEND "<CMAKE_AR> ar q <TARGET> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "<CMAKE_AR> ranlib <TARGET>")
