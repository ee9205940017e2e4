/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf.h"

#include <string.h>

struct machine {
    const struct sock_filter *code;
    size_t at;
    size_t steps;
    uint32_t a, x;
    uint32_t memory[BPF_MEMWORDS];
    bool looked; /* at more than the number and the architecture */
};

static bool is_jump(uint16_t code)
{
    return BPF_CLASS(code) == BPF_JMP;
}

static bool is_known(const struct sock_filter *insn)
{
    switch (insn->code) {
    case BPF_LD | BPF_W | BPF_ABS: return insn->k % 4 == 0 && insn->k < sizeof(struct seccomp_data);
    case BPF_ST:
    case BPF_STX:
    case BPF_LD | BPF_MEM:
    case BPF_LDX | BPF_MEM: return insn->k < BPF_MEMWORDS;
    case BPF_LD | BPF_IMM:
    case BPF_LDX | BPF_IMM:
    case BPF_MISC | BPF_TAX:
    case BPF_MISC | BPF_TXA:
    case BPF_ALU | BPF_AND | BPF_K:
    case BPF_ALU | BPF_AND | BPF_X:
    case BPF_RET | BPF_K:
    case BPF_RET | BPF_A:
    case BPF_JMP | BPF_JA:
    case BPF_JMP | BPF_JEQ | BPF_K:
    case BPF_JMP | BPF_JGE | BPF_K:
    case BPF_JMP | BPF_JGT | BPF_K:
    case BPF_JMP | BPF_JSET | BPF_K: return true;
    default: return false;
    }
}

bool bpf_is_valid(const struct sock_filter *code, size_t len)
{
    if (len == 0 || len > BPF_MAXINSNS || BPF_CLASS(code[len - 1].code) != BPF_RET)
        return false;
    for (size_t i = 0; i < len; i++) {
        size_t left = len - i - 1;

        if (!is_known(&code[i]))
            return false;
        if (code[i].code == (BPF_JMP | BPF_JA) && code[i].k >= left)
            return false;
        if (is_jump(code[i].code) && code[i].code != (BPF_JMP | BPF_JA) &&
            (code[i].jt >= left || code[i].jf >= left))
            return false;
    }
    return true;
}

static void jump(struct machine *m, const struct sock_filter *insn)
{
    bool yes = false;

    switch (BPF_OP(insn->code)) {
    case BPF_JA: m->at += insn->k; return;
    case BPF_JEQ: yes = m->a == insn->k; break;
    case BPF_JGE: yes = m->a >= insn->k; break;
    case BPF_JGT: yes = m->a > insn->k; break;
    case BPF_JSET: yes = (m->a & insn->k) != 0; break;
    default: break;
    }
    m->at += yes ? insn->jt : insn->jf;
}

static void step(struct machine *m, const struct sock_filter *insn, const struct seccomp_data *data)
{
    switch (insn->code) {
    case BPF_LD | BPF_W | BPF_ABS:
        memcpy(&m->a, (const char *)data + insn->k, sizeof(m->a));
        m->looked |= insn->k > offsetof(struct seccomp_data, arch);
        break;
    case BPF_LD | BPF_IMM: m->a = insn->k; break;
    case BPF_LDX | BPF_IMM: m->x = insn->k; break;
    case BPF_LD | BPF_MEM: m->a = m->memory[insn->k]; break;
    case BPF_LDX | BPF_MEM: m->x = m->memory[insn->k]; break;
    case BPF_ST: m->memory[insn->k] = m->a; break;
    case BPF_STX: m->memory[insn->k] = m->x; break;
    case BPF_MISC | BPF_TAX: m->x = m->a; break;
    case BPF_MISC | BPF_TXA: m->a = m->x; break;
    case BPF_ALU | BPF_AND | BPF_K: m->a &= insn->k; break;
    case BPF_ALU | BPF_AND | BPF_X: m->a &= m->x; break;
    default: jump(m, insn); break;
    }
}

static uint32_t run(struct machine *m, const struct seccomp_data *data)
{
    for (;;) {
        const struct sock_filter *insn = &m->code[m->at++];

        m->steps++;
        if (BPF_CLASS(insn->code) == BPF_RET)
            return BPF_RVAL(insn->code) == BPF_A ? m->a : insn->k;
        step(m, insn, data);
    }
}

uint32_t bpf_run(const struct sock_filter *code, const struct seccomp_data *data, size_t *ret_steps)
{
    struct machine m = {.code = code};
    uint32_t verdict = run(&m, data);

    if (ret_steps)
        *ret_steps = m.steps;
    return verdict;
}

bool bpf_is_const_allow(const struct sock_filter *code, uint32_t arch, int nr)
{
    struct seccomp_data data = {.nr = nr, .arch = arch};
    struct machine m = {.code = code};

    return run(&m, &data) == SECCOMP_RET_ALLOW && !m.looked;
}
