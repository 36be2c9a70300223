/* The characters of pet names as the model sees them, and samples packed into one integer.
 *
 * Inputs are 29 symbols: a to z, '.', '-' and blank. Labels are the same 29 and the end of a name,
 * written '+'. A sample is 10 symbols of context (blanks where the name is shorter) and the label
 * that follows them, 5 bits each, the oldest symbol highest and the label lowest: sorting samples
 * as integers puts those with a common beginning side by side, which pet_batch lives on. */
#ifndef GW_EXAMPLES_PETNAMES_ALPHABET_H
#define GW_EXAMPLES_PETNAMES_ALPHABET_H

#include <stdint.h>

enum {
    PET_DOT = 26,
    PET_DASH = 27,
    PET_BLANK = 28,
    PET_INPUTS = 29,
    PET_END = 29,
    PET_LABELS = 30,
    PET_CONTEXT = 10,
    PET_SYMBOL_BITS = 5
};

/* pet_symbol returns the symbol of a character, PET_END for '+', -1 for one outside the alphabet.
 */
static inline int pet_symbol(char character)
{
    if (character >= 'a' && character <= 'z')
        return character - 'a';
    switch (character) {
    case '.':
        return PET_DOT;
    case '-':
        return PET_DASH;
    case ' ':
        return PET_BLANK;
    case '+':
        return PET_END;
    default:
        return -1;
    }
}

/* pet_character returns the character of a symbol or label (0 to PET_LABELS - 1). */
static inline char pet_character(int symbol)
{
    return "abcdefghijklmnopqrstuvwxyz.- +"[symbol];
}

/* pet_window_blank returns the context before the first character of a name. */
static inline uint64_t pet_window_blank(void)
{
    uint64_t window = 0;
    for (int i = 0; i < PET_CONTEXT; i++)
        window = window << PET_SYMBOL_BITS | PET_BLANK;
    return window;
}

/* pet_window_push returns the context after one more symbol: the oldest falls out. */
static inline uint64_t pet_window_push(uint64_t window, int symbol)
{
    const uint64_t mask = (UINT64_C(1) << (PET_SYMBOL_BITS * PET_CONTEXT)) - 1;
    return (window << PET_SYMBOL_BITS | (uint64_t)symbol) & mask;
}

/* pet_window_symbol returns the symbol at a place of a context, 0 the oldest. */
static inline int pet_window_symbol(uint64_t window, int place)
{
    return (int)(window >> (PET_SYMBOL_BITS * (PET_CONTEXT - 1 - place))) & 31;
}

/* pet_sample returns a context and its label as one integer. */
static inline uint64_t pet_sample(uint64_t window, int label)
{
    return window << PET_SYMBOL_BITS | (uint64_t)label;
}

/* pet_sample_window returns the context of a sample. */
static inline uint64_t pet_sample_window(uint64_t sample)
{
    return sample >> PET_SYMBOL_BITS;
}

/* pet_sample_label returns the label of a sample. */
static inline int pet_sample_label(uint64_t sample)
{
    return (int)(sample & 31);
}

#endif
