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
#include "cli/rpc/message.h"
#include "cli/rpc/params.h"
#include "cli/rpc/server.h"

enum { DOWNLOAD_MAX = 64 << 20 };

/* ---- Searches ---- */

static json_t *found_json(const struct hutch_file_entry *entry)
{
    return json_pack("{s:o, s:s, s:I, s:I}", "path", json_text_lossy(entry->path), "type",
                     hutch_file_type_name(entry->type), "size", (json_int_t)entry->size, "modified",
                     (json_int_t)(entry->modified_ns / 1000000));
}

int method_file_glob(struct server *server, const struct call *call, struct hutch_error *err)
{
    struct hutch_file_glob_options options = HUTCH_FILE_GLOB_INIT;
    struct server_sandbox *sandbox;
    struct hutch_file_entries *entries;

    options.directories = params_bool(call->params, "directories");
    options.hidden = params_bool(call->params, "hidden");
    options.anchored = params_bool(call->params, "anchored");
    options.limit = params_count(call->params, "limit", options.limit);
    options.budget_ms = params_count(call->params, "budget_ms", options.budget_ms);
    int r = server_find_sandbox(server, call->params, &sandbox, err);
    if (r == 0)
        r = hutch_file_glob(sandbox->sandbox, params_string(call->params, "path"),
                            params_string(call->params, "pattern"), &options, &entries, err);
    if (r != 0)
        return r;

    json_t *list = json_array();
    for (size_t i = 0; i < entries->count; i++)
        json_array_append_new(list, found_json(&entries->items[i]));
    answer_json(&server->outbox, call->id,
                json_pack("{s:o, s:b}", "matches", list, "truncated", entries->truncated));
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

int method_file_grep(struct server *server, const struct call *call, struct hutch_error *err)
{
    struct hutch_file_grep_options options = HUTCH_FILE_GREP_INIT;
    struct server_sandbox *sandbox;
    struct hutch_file_matches *matches;

    options.regex = params_bool(call->params, "regex");
    options.ignore_case = params_bool(call->params, "ignore_case");
    options.context = params_count(call->params, "context", options.context);
    options.glob = params_string(call->params, "glob");
    options.limit = params_count(call->params, "limit", options.limit);
    options.budget_ms = params_count(call->params, "budget_ms", options.budget_ms);
    int r = server_find_sandbox(server, call->params, &sandbox, err);
    if (r == 0)
        r = hutch_file_grep(sandbox->sandbox, params_string(call->params, "path"),
                            params_string(call->params, "pattern"), &options, &matches, err);
    if (r != 0)
        return r;

    json_t *list = json_array();
    for (size_t i = 0; i < matches->count; i++)
        json_array_append_new(list, match_json(&matches->items[i]));
    answer_json(&server->outbox, call->id,
                json_pack("{s:o, s:b}", "matches", list, "truncated", matches->truncated));
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

static int upload(struct server *server, const struct call *call, struct hutch_file_source *sources,
                  struct hutch_error *err)
{
    const json_t *files = params_get(call->params, "files");
    struct server_sandbox *sandbox;
    struct hutch_file_transfers *transfers;

    for (size_t i = 0; i < json_array_size(files); i++) {
        if (source_from_json(json_array_get(files, i), &sources[i], err) < 0)
            return refuse_file(i, err);
    }
    int r = server_find_sandbox(server, call->params, &sandbox, err);
    if (r == 0)
        r = hutch_file_upload(sandbox->sandbox, sources, json_array_size(files), &transfers, err);
    if (r != 0)
        return r;
    answer_json(&server->outbox, call->id, uploads_json(transfers, sources));
    hutch_file_free(transfers);
    return 0;
}

int method_file_upload(struct server *server, const struct call *call, struct hutch_error *err)
{
    size_t count = json_array_size(params_get(call->params, "files"));
    struct hutch_file_source *sources = calloc(count + 1, sizeof *sources);

    if (!sources)
        abort();
    int r = upload(server, call, sources, err);
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

int method_file_download(struct server *server, const struct call *call, struct hutch_error *err)
{
    struct hutch_file_download_options options = HUTCH_FILE_DOWNLOAD_INIT;
    params_list_auto char **paths = params_list(call->params, "paths");
    size_t count = json_array_size(params_get(call->params, "paths"));
    struct server_sandbox *sandbox;
    struct hutch_file_transfers *transfers;

    options.max_bytes = DOWNLOAD_MAX;
    options.total_bytes = DOWNLOAD_MAX;
    int r = server_find_sandbox(server, call->params, &sandbox, err);
    if (r == 0)
        r = hutch_file_download(sandbox->sandbox, (const char *const *)paths, count, &options,
                                &transfers, err);
    if (r != 0)
        return r;
    answer_json(&server->outbox, call->id, downloads_json(transfers));
    hutch_file_free(transfers);
    return 0;
}
