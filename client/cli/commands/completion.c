/* `gangway completion`: prints a script with which a shell completes commands and options. The
 * scripts call `gangway help`, so they always match the installed version. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/options.h"

#include <string.h>

/* These commands extract words from a help text. Only the first column is used, because the
 * description may mention other options. Commands are indented by two columns; options start at
 * column seven, after their letter if they have one. Verbs are listed in a section "Commands:", or
 * in the first line, as "bash|zsh|fish" or "[list]". */
#define COMMANDS "sed -n 's/^  \\([a-z][a-z]*\\)  *[^ ].*/\\1/p'"
#define VERBS                                                                                      \
    "sed -n -e '1s/.* \\[*\\([a-z]*|[a-z|]*\\)\\]*$/\\1/p' "                                       \
    "-e '1s/.*\\] \\[\\([a-z]*\\)\\]$/\\1/p' "                                                     \
    "-e '/^Commands:/,/^$/s/^  \\([a-z][a-z]*\\)  *[^ ].*/\\1/p' | tr '|' '\\n'"
#define OPTIONS "sed -n 's/^  \\(    \\|-., \\)\\(--[a-z-]*\\).*/\\2/p'"

static const char in_bash[] =
    "_gangway()\n"
    "{\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} before=\" ${COMP_WORDS[*]:1:COMP_CWORD-1} \"\n"
    "    local command=${COMP_WORDS[1]} verb=${COMP_WORDS[2]} words=\n"
    "    [[ $before != *\" -- \"* ]] || return\n"
    "    if [ \"$COMP_CWORD\" = 1 ] || [ \"$COMP_CWORD-$command\" = 2-help ]; then\n"
    "        words=$(gangway help | " COMMANDS ")\n"
    "    elif [[ $word == -* ]]; then\n"
    "        [[ $COMP_CWORD -gt 2 ]] && words=$(gangway help \"$command\" \"$verb\" 2>/dev/null "
    "| " OPTIONS ")\n"
    "        [ -n \"$words\" ] || words=$(gangway help \"$command\" 2>/dev/null | " OPTIONS ")\n"
    "    elif [ \"$COMP_CWORD\" = 2 ]; then\n"
    "        words=$(gangway help \"$command\" 2>/dev/null | " VERBS ")\n"
    "    fi\n"
    "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
    "}\n"
    "complete -o default -F _gangway gangway\n";

static const char in_zsh[] =
    "#compdef gangway\n"
    "_gangway()\n"
    "{\n"
    "    local -a found\n"
    "    if [[ \" ${words[2,CURRENT-1]} \" == *\" -- \"* ]]; then\n"
    "        _files\n"
    "        return\n"
    "    elif (( CURRENT == 2 )) || [[ $CURRENT-$words[2] == 3-help ]]; then\n"
    "        found=(${(f)\"$(gangway help | " COMMANDS ")\"})\n"
    "    elif [[ $words[CURRENT] == -* ]]; then\n"
    "        (( CURRENT > 3 )) &&\n"
    "            found=(${(f)\"$(gangway help $words[2] $words[3] 2>/dev/null | " OPTIONS ")\"})\n"
    "        (( $#found )) ||\n"
    "            found=(${(f)\"$(gangway help $words[2] 2>/dev/null | " OPTIONS ")\"})\n"
    "    elif (( CURRENT == 3 )); then\n"
    "        found=(${(f)\"$(gangway help $words[2] 2>/dev/null | " VERBS ")\"})\n"
    "    fi\n"
    "    (( $#found )) && compadd -- $found || _files\n"
    "}\n"
    "compdef _gangway gangway\n"
    "if [[ ${funcstack[1]} = _gangway ]]; then\n" /* as a file in $fpath, it has to complete when it
                                                     is loaded */
    "    _gangway\n"
    "fi\n";

static const char in_fish[] =
    "function __gangway_options\n"
    "    set -l words (commandline -opc)\n"
    "    set -l found\n"
    "    test (count $words) -gt 2; and set found (gangway help $words[2] $words[3] 2>/dev/null |\n"
    "        " OPTIONS ")\n"
    "    test -n \"$found\"; or set found (gangway help $words[2] 2>/dev/null |\n"
    "        " OPTIONS ")\n"
    "    printf '%s\\n' $found\n"
    "end\n"
    "function __gangway_verbs\n"
    "    set -l words (commandline -opc)\n"
    "    test (count $words) -eq 2; or return\n"
    "    if test $words[2] = help\n"
    "        gangway help | " COMMANDS "\n"
    "    else\n"
    "        gangway help $words[2] 2>/dev/null | " VERBS "\n"
    "    end\n"
    "end\n"
    "complete -c gangway -f -n __fish_use_subcommand "
    "-a \"(gangway help | string replace -rf '^  ([a-z]+) +(.*)' '\\$1\\t\\$2')\"\n"
    "complete -c gangway -f -n 'test (count (__gangway_verbs)) -gt 0' -a '(__gangway_verbs)'\n"
    "complete -c gangway -n 'string match -q -- \"-*\" (commandline -ct)' "
    "-a '(__gangway_options)'\n";

int gw_cli_completion(int argc, char **argv)
{
    static const struct gw_option table[] = {{0}};
    const struct gw_options options = {
        .command = "completion",
        .arguments = "bash|zsh|fish",
        .summary = "Print a script that completes commands and options in a shell.",
        .details = "Where gangway is installed it lies where they look for it. Else:\n\n"
                   "In ~/.bashrc:  eval \"$(gangway completion bash)\"\n"
                   "In ~/.zshrc, after compinit:  eval \"$(gangway completion zsh)\"\n"
                   "In fish's config:  gangway completion fish | source",
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1,
    };
    static const struct {
        const char *shell, *script;
    } scripts[] = {{"bash", in_bash}, {"zsh", in_zsh}, {"fish", in_fish}};
    int first, exit_code;
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        if (strcmp(scripts[i].shell, argv[first]) == 0) {
            fputs(scripts[i].script, stdout);
            return GW_EXIT_OK;
        }
    gw_cli_message("gangway completion: unknown shell %s: give bash, zsh or fish", argv[first]);
    return GW_EXIT_USAGE;
}
