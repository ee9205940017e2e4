/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/docgen.h"
#include "cli/rpc/methods.h"

void methods_markdown(void)
{
    for (const struct method *row = methods; row->name; row++) {
        printf("### %s\n\n%s\n\n", row->name, row->help);
        if (row->params->name[0])
            printf("| param | type | |\n|---|---|---|\n");
        for (const struct param *param = row->params; param->name[0]; param++)
            printf("| `%s` | %s%s | %s |\n", param->name, param_type_name(param->type),
                   param->required ? ", needed" : "", param->help);
        printf("%sResult: %s\n", row->params->name[0] ? "\n" : "", row->result);
        if (row[1].name)
            putchar('\n');
    }
}

/* Marked names become bold. */
static void put_scdoc(const char *text)
{
    for (; *text; text++) {
        char letter[] = {*text, '\0'};

        if (*text == '`')
            putchar('*');
        else
            docgen_escaped(letter);
    }
}

void methods_scdoc(void)
{
    for (const struct method *row = methods; row->name; row++) {
        printf("## ");
        docgen_escaped(row->name);
        printf("\n\n");
        put_scdoc(row->help);
        printf("\n\n");
        for (const struct param *param = row->params; param->name[0]; param++) {
            printf("*");
            docgen_escaped(param->name);
            printf("* (%s%s)\n\t", param_type_name(param->type), param->required ? ", needed" : "");
            put_scdoc(param->help);
            printf("\n\n");
        }
        printf("Result: ");
        put_scdoc(row->result);
        printf("\n\n");
    }
}
