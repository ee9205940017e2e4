/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a sandbox, many a call: searches and transfers. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/rpc/answer.h"
#include "cli/rpc/file_call.h"
#include "cli/rpc/message.h"
#include "cli/rpc/params.h"

enum { DOWNLOAD_MAX = 64 << 20 };

/* ---- Searches ---- */

static json_t *found_json(const struct hutch_file_entry *entry)
{
    return json_pack("{s:o, s:s, s:I, s:I}", "path", json_text_lossy(entry->path), "type",
                     hutch_file_type_name(entry->type), "size", (json_int_t)entry->size, "modified",
                     (json_int_t)(entry->modified_ns / 1000000));
}

int file_glob(struct hutch_sandbox *sandbox, const json_t *params, json_t **ret,
              struct hutch_error *err)
{
    struct hutch_file_glob_options options = HUTCH_FILE_GLOB_INIT;
    struct hutch_file_entries *entries;

    options.directories = params_bool(params, "directories");
    options.hidden = params_bool(params, "hidden");
    options.anchored = params_bool(params, "anchored");
    options.limit = params_count(params, "limit", options.limit);
    options.budget_ms = params_count(params, "budget_ms", options.budget_ms);
    int r = hutch_file_glob(sandbox, params_string(params, "path"),
                            params_string(params, "pattern"), &options, &entries, err);
    if (r != 0)
        return r;

    json_t *list = json_array();
    for (size_t i = 0; i < entries->count; i++)
        json_array_append_new(list, found_json(&entries->items[i]));
    *ret = json_pack("{s:o, s:b}", "matches", list, "truncated", entries->truncated);
    hutch_file_free(entries);
    return 0;
}

static json_t *lines_json(const char *const *lines, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_text_lossy(lines[i]));
    return list;
}

static json_t *match_json(const struct hutch_file_match *match)
{
    return json_pack("{s:o, s:I, s:o, s:o, s:o}", "path", json_text_lossy(match->path), "line",
                     (json_int_t)match->line, "text", json_text_lossy(match->text), "before",
                     lines_json(match->before, match->before_count), "after",
                     lines_json(match->after, match->after_count));
}

int file_grep(struct hutch_sandbox *sandbox, const json_t *params, json_t **ret,
              struct hutch_error *err)
{
    struct hutch_file_grep_options options = HUTCH_FILE_GREP_INIT;
    struct hutch_file_matches *matches;

    options.regex = params_bool(params, "regex");
    options.ignore_case = params_bool(params, "ignore_case");
    options.context = params_count(params, "context", options.context);
    options.glob = params_string(params, "glob");
    options.limit = params_count(params, "limit", options.limit);
    options.budget_ms = params_count(params, "budget_ms", options.budget_ms);
    int r = hutch_file_grep(sandbox, params_string(params, "path"),
                            params_string(params, "pattern"), &options, &matches, err);
    if (r != 0)
        return r;

    json_t *list = json_array();
    for (size_t i = 0; i < matches->count; i++)
        json_array_append_new(list, match_json(&matches->items[i]));
    *ret = json_pack("{s:o, s:b}", "matches", list, "truncated", matches->truncated);
    hutch_file_free(matches);
    return 0;
}

/* ---- Transfers ---- */

/* What became of one file, without its content. */
static json_t *transfer_json(const char *path, const struct hutch_error *error)
{
    json_t *row = json_object();

    json_object_set_new(row, "path", json_text_lossy(path));
    json_object_set_new(row, "error", error->code ? answer_error_json(error) : json_null());
    return row;
}

static const struct param file_params[] = {
    {"path", PARAM_STRING, "", .required = true},
    {"content_base64", PARAM_STRING, "", .required = true},
    {"mode", PARAM_COUNT, "", .max = 0777},
    {.name = ""},
};

/* Point at the member of file number `index` that err->where names. */
static int refuse_file(size_t index, struct hutch_error *err)
{
    char member[sizeof err->where];

    memcpy(member, err->where, sizeof member);
    snprintf(err->where, sizeof err->where, "/files/%zu%.90s", index, member);
    return RPC_PARAMS;
}

/* Content that is not base64 is a byte of no data, for which the library refuses this file and no other. */
static int source_from_json(const json_t *file, struct hutch_file_source *ret,
                            struct hutch_error *err)
{
    char *data = NULL;
    size_t len;

    int r = params_check(file_params, file, err);
    if (r != 0)
        return r;
    bool good = json_base64_bytes(params_get(file, "content_base64"), &data, &len);
    if (good && !data)
        abort();
    *ret = (struct hutch_file_source){
        .path = params_string(file, "path"),
        .data = good ? data : NULL,
        .len = good ? len : 1,
        .mode = (uint32_t)params_count(file, "mode", 0),
    };
    return 0;
}

static json_t *uploads_json(const struct hutch_file_transfers *transfers,
                            const struct hutch_file_source *sources)
{
    json_t *list = json_array();

    for (size_t i = 0; i < transfers->count; i++) {
        struct hutch_error error = transfers->items[i].error;

        if (!sources[i].data) {
            err_set(&error, HUTCH_EINVALID, "/content_base64", "is not base64");
            refuse_file(i, &error);
        }
        json_array_append_new(list, transfer_json(transfers->items[i].path, &error));
    }
    return json_pack("{s:o}", "results", list);
}

static int upload(struct hutch_sandbox *sandbox, const json_t *params,
                  struct hutch_file_source *sources, json_t **ret, struct hutch_error *err)
{
    const json_t *files = params_get(params, "files");
    struct hutch_file_transfers *transfers;

    for (size_t i = 0; i < json_array_size(files); i++) {
        if (source_from_json(json_array_get(files, i), &sources[i], err) < 0)
            return refuse_file(i, err);
    }
    int r = hutch_file_upload(sandbox, sources, json_array_size(files), &transfers, err);
    if (r != 0)
        return r;
    *ret = uploads_json(transfers, sources);
    hutch_file_free(transfers);
    return 0;
}

int file_upload(struct hutch_sandbox *sandbox, const json_t *params, json_t **ret,
                struct hutch_error *err)
{
    size_t count = json_array_size(params_get(params, "files"));
    struct hutch_file_source *sources = calloc(count + 1, sizeof *sources);

    if (!sources)
        abort();
    int r = upload(sandbox, params, sources, ret, err);
    for (size_t i = 0; i < count; i++)
        free((void *)sources[i].data);
    free(sources);
    return r;
}

static json_t *downloads_json(const struct hutch_file_transfers *transfers)
{
    json_t *list = json_array();

    for (size_t i = 0; i < transfers->count; i++) {
        const struct hutch_file_transfer *item = &transfers->items[i];
        json_t *row = transfer_json(item->path, &item->error);

        if (!item->error.code)
            json_object_set_new(row, "content_base64", json_string_base64(item->data, item->len));
        json_array_append_new(list, row);
    }
    return json_pack("{s:o}", "results", list);
}

int file_download(struct hutch_sandbox *sandbox, const json_t *params, json_t **ret,
                  struct hutch_error *err)
{
    struct hutch_file_download_options options = HUTCH_FILE_DOWNLOAD_INIT;
    params_list_auto char **paths = params_list(params, "paths");
    size_t count = json_array_size(params_get(params, "paths"));
    struct hutch_file_transfers *transfers;

    options.max_bytes = DOWNLOAD_MAX;
    options.total_bytes = DOWNLOAD_MAX;
    int r = hutch_file_download(sandbox, (const char *const *)paths, count, &options, &transfers,
                                err);
    if (r != 0)
        return r;
    *ret = downloads_json(transfers);
    hutch_file_free(transfers);
    return 0;
}
