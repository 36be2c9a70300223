/* `gangway completion`: prints what teaches a shell to complete commands and options. The scripts
 * ask `gangway help`, so that they hold for whatever there is. */
#include "client/cli/cli.h"
#include "client/cli/options.h"

#include <string.h>

static const char in_bash[] =
    "_gangway()\n"
    "{\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} before=\" ${COMP_WORDS[*]:1:COMP_CWORD-1} \"\n"
    "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
    "        COMPREPLY=($(compgen -W \"$(gangway help | sed -n 's/^  \\([a-z]*\\) .*/\\1/p')\" "
    "-- \"$word\"))\n"
    "    elif [[ $before != *\" -- \"* && $word == -* ]]; then\n"
    "        COMPREPLY=($(compgen -W \"$(gangway help \"${COMP_WORDS[1]}\" 2>/dev/null |\n"
    "            sed -n 's/^ .*\\(--[a-z-]*\\).*/\\1/p')\" -- \"$word\"))\n"
    "    fi\n"
    "}\n"
    "complete -o default -F _gangway gangway\n";

static const char in_zsh[] =
    "#compdef gangway\n"
    "_gangway()\n"
    "{\n"
    "    if (( CURRENT == 2 )); then\n"
    "        compadd -- ${(f)\"$(gangway help | sed -n 's/^  \\([a-z]*\\) .*/\\1/p')\"}\n"
    "    elif [[ ${words[1,CURRENT-1]} != *\" -- \"* && $words[CURRENT] == -* ]]; then\n"
    "        compadd -- ${(f)\"$(gangway help $words[2] 2>/dev/null |\n"
    "            sed -n 's/^ .*\\(--[a-z-]*\\).*/\\1/p')\"}\n"
    "    else\n"
    "        _files\n"
    "    fi\n"
    "}\n"
    "compdef _gangway gangway\n";

static const char in_fish[] =
    "complete -c gangway -f -n __fish_use_subcommand "
    "-a \"(gangway help | string replace -rf '^  ([a-z]+) +(.*)' '\\$1\\t\\$2')\"\n"
    "complete -c gangway -n 'string match -q -- \"-*\" (commandline -ct)' "
    "-a \"(gangway help (commandline -opc)[2] 2>/dev/null | "
    "string replace -rf '^ .*(--[a-z-]+).*' '\\$1')\"\n";

int gw_cli_completion(int argc, char **argv)
{
    static const struct gw_option table[] = {{0}};
    const struct gw_options options = {
        .command = "completion",
        .arguments = "bash|zsh|fish",
        .summary = "Print what completes commands and options in a shell.",
        .details = "In ~/.bashrc:  eval \"$(gangway completion bash)\"\n"
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
    fprintf(stderr, "gangway completion: %s: there are bash, zsh and fish\n", argv[first]);
    return GW_EXIT_USAGE;
}
