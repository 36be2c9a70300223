/* Replaces parameters in words. */
#include "client/cli/sweep/trial_template.h"

#include <gangway/sweep.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 128 };

/* Reads "{name}" at the start of `text`. Returns its length, or 0 if there is none: other text in
 * braces, as in a shell script, is no parameter. */
static size_t read_name(const char *text, char name[static NAME_MAX_BYTES])
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789.";
    const size_t bytes = *text == '{' ? strspn(text + 1, letters) : 0;
    if (bytes == 0 || strchr("0123456789.", text[1]) || bytes >= NAME_MAX_BYTES ||
        text[1 + bytes] != '}')
        return 0;
    memcpy(name, text + 1, bytes);
    name[bytes] = '\0';
    return bytes + 2;
}

/* Whether submit or dispatch replaces the word later. */
static bool is_later(const char *name)
{
    static const char *const names[] = {"rank", "local_rank", "node_rank", "world_size"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* What expanding one word found. */
struct word {
    FILE *out;
    bool missing; /* a parameter that the trial does not have */
    bool failed;  /* out of memory */
};

static void expand(struct word *word, const char *text, const struct gw_trial *trial)
{
    char name[NAME_MAX_BYTES];
    while (*text) {
        const size_t bytes = read_name(text, name);
        if (bytes == 0) {
            const size_t escaped = strncmp(text, "{{}", 3) == 0  ? 3
                                   : strncmp(text, "${", 2) == 0 ? 2 /* a variable of a shell */
                                                                 : 1;
            (void)fwrite(text, 1, escaped, word->out);
            text += escaped;
            continue;
        }
        const struct gw_value *value = gw_value_find(trial->params, name);
        if (value) {
            const size_t length = gw_sweep_word(value, NULL, 0);
            char *said = malloc(length + 1);
            word->failed |= !said;
            if (said) {
                (void)gw_sweep_word(value, said, length + 1);
                (void)fwrite(said, 1, length, word->out);
            }
            free(said);
        } else if (strcmp(name, "trial") == 0)
            (void)fprintf(word->out, "%u", trial->number);
        else if (is_later(name))
            (void)fwrite(text, 1, bytes, word->out);
        else
            word->missing = true;
        text += bytes;
    }
}

int gw_trial_template_expand(char *const *words, const struct gw_trial *trial, char ***made)
{
    size_t count = 0, used = 0;
    while (words[count])
        count++;
    *made = calloc(count + 1, sizeof **made);
    if (!*made)
        return GW_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        char *text = NULL;
        size_t bytes;
        struct word word = {.out = open_memstream(&text, &bytes)};
        if (word.out)
            expand(&word, words[i], trial);
        if (!word.out || fclose(word.out) != 0 || word.failed) {
            free(text);
            gw_trial_template_free(*made);
            *made = NULL;
            return GW_ENOMEM;
        }
        if (word.missing)
            free(text);
        else
            (*made)[used++] = text;
    }
    return 0;
}

void gw_trial_template_free(char **made)
{
    for (char **word = made; word && *word; word++)
        free(*word);
    free(made);
}

int gw_trial_template_check(char *const *words, bool (*known)(const char *name, void *arg),
                            void *arg, struct gw_error *error)
{
    char name[NAME_MAX_BYTES];
    for (; *words; words++)
        for (const char *at = *words; *at; at++) {
            if (strncmp(at, "{{}", 3) == 0 || strncmp(at, "${", 2) == 0) {
                at++;
                continue;
            }
            if (read_name(at, name) == 0 || is_later(name) || strcmp(name, "trial") == 0 ||
                known(name, arg))
                continue;
            return gw_error_set(error, GW_EINVAL,
                                "%s: there is no parameter %s: name it with --param %s=..., or "
                                "write {{}%s} for the text itself",
                                *words, name, name, name);
        }
    return 0;
}
