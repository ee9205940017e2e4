/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a sandbox, one a call. Names and lines need not be UTF-8: what is not is replaced. */
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/rpc/answer.h"
#include "cli/rpc/file_call.h"
#include "cli/rpc/params.h"
#include "cli/rpc/server.h"

static json_t *entry_json(const struct hutch_file_entry *entry)
{
    return json_pack("{s:o, s:o, s:s, s:I, s:I, s:i}", "name", json_text_lossy(entry->name), "path",
                     json_text_lossy(entry->path), "type", hutch_file_type_name(entry->type),
                     "size", (json_int_t)entry->size, "modified",
                     (json_int_t)(entry->modified_ns / 1000000), "mode", (int)entry->mode);
}

int method_file_stat(struct server *server, const struct call *call, struct hutch_error *err)
{
    struct hutch_file_stat_options options = HUTCH_FILE_STAT_INIT;
    const char *path = params_string(call->params, "path");
    struct server_sandbox *sandbox;
    struct hutch_file_entry *entry;

    options.follow = params_bool(call->params, "follow");
    int r = server_find_sandbox(server, call->params, &sandbox, err);
    if (r == 0)
        r = hutch_file_stat(sandbox->sandbox, path, &options, &entry, err);
    if (r != 0)
        return r;
    answer_json(&server->outbox, call->id, entry_json(entry));
    hutch_file_free(entry);
    return 0;
}

int file_list(struct hutch_sandbox *sandbox, const json_t *params, json_t **ret,
              struct hutch_error *err)
{
    struct hutch_file_list_options options = HUTCH_FILE_LIST_INIT;
    const char *path = params_string(params, "path");
    struct hutch_file_entries *entries;

    options.limit = params_count(params, "limit", options.limit);
    options.follow = params_bool(params, "follow");
    options.budget_ms = params_count(params, "budget_ms", options.budget_ms);
    int r = hutch_file_list(sandbox, path, &options, &entries, err);
    if (r != 0)
        return r;

    json_t *list = json_array();
    for (size_t i = 0; i < entries->count; i++)
        json_array_append_new(list, entry_json(&entries->items[i]));
    *ret = json_pack("{s:o, s:b}", "entries", list, "truncated", entries->truncated);
    hutch_file_free(entries);
    return 0;
}

static json_t *number_or_null(bool known, uint64_t number)
{
    return known ? json_integer((json_int_t)number) : json_null();
}

static json_t *content_json(const struct hutch_file_content *content)
{
    bool text = content->utf8 && !content->binary;
    json_t *object = json_object();

    json_object_set_new(object, "content",
                        text ? json_stringn_nocheck(content->data, content->len)
                             : json_string_base64(content->data, content->len));
    json_object_set_new(object, "encoding", json_string(text ? "utf-8" : "base64"));
    json_object_set_new(object, "start_line", json_integer((json_int_t)content->start_line));
    json_object_set_new(object, "end_line", json_integer((json_int_t)content->end_line));
    json_object_set_new(object, "next_offset", number_or_null(content->more, content->next_offset));
    json_object_set_new(object, "total_lines",
                        number_or_null(content->total_known, content->total_lines));
    json_object_set_new(object, "size", json_integer((json_int_t)content->size));
    json_object_set_new(object, "modified",
                        json_integer((json_int_t)(content->modified_ns / 1000000)));
    json_object_set_new(object, "truncated", json_boolean(content->truncated));
    return object;
}

int file_read(struct hutch_sandbox *sandbox, const json_t *params, json_t **ret,
              struct hutch_error *err)
{
    struct hutch_file_read_options options = HUTCH_FILE_READ_INIT;
    struct hutch_file_content *content;

    options.offset = params_count(params, "offset", options.offset);
    options.limit = params_count(params, "limit", options.limit);
    options.max_bytes = params_count(params, "max_bytes", options.max_bytes);
    options.bytes = params_bool(params, "bytes");
    int r = hutch_file_read(sandbox, params_string(params, "path"), &options, &content, err);
    if (r != 0)
        return r;
    *ret = content_json(content);
    hutch_file_free(content);
    return 0;
}

int file_write(struct hutch_sandbox *sandbox, const json_t *params, json_t **ret,
               struct hutch_error *err)
{
    struct hutch_file_write_options options = HUTCH_FILE_WRITE_INIT;
    const char *path = params_string(params, "path");
    struct hutch_file_written *written;
    str_auto char *held = NULL;
    const char *data;
    size_t len;

    options.mode = (uint32_t)params_count(params, "mode", options.mode);
    options.exclusive = params_bool(params, "exclusive");
    int r = params_bytes(params, "content", &data, &len, &held, err);
    if (r == 0)
        r = hutch_file_write(sandbox, path, data, len, &options, &written, err);
    if (r != 0)
        return r;
    *ret = json_pack("{s:o, s:I, s:b}", "path", json_text_lossy(written->path), "size",
                     (json_int_t)written->size, "created", written->created);
    hutch_file_free(written);
    return 0;
}

int file_edit(struct hutch_sandbox *sandbox, const json_t *params, json_t **ret,
              struct hutch_error *err)
{
    struct hutch_file_edit_options options = HUTCH_FILE_EDIT_INIT;
    struct hutch_file_edited *edited;

    options.all = params_bool(params, "all");
    int r = hutch_file_edit(sandbox, params_string(params, "path"), params_string(params, "old"),
                            params_string(params, "new"), &options, &edited, err);
    if (r != 0)
        return r;
    *ret = json_pack("{s:o, s:I}", "path", json_text_lossy(edited->path), "occurrences",
                     (json_int_t)edited->occurrences);
    hutch_file_free(edited);
    return 0;
}

int file_delete(struct hutch_sandbox *sandbox, const json_t *params, json_t **ret,
                struct hutch_error *err)
{
    struct hutch_file_delete_options options = HUTCH_FILE_DELETE_INIT;
    const char *path = params_string(params, "path");

    options.recursive = params_bool(params, "recursive");
    options.budget_ms = params_count(params, "budget_ms", options.budget_ms);
    int r = hutch_file_delete(sandbox, path, &options, err);
    if (r == 0)
        *ret = json_object();
    return r;
}
