import { allApproversOf, missingApprovers } from '@countersign/commands';
import type { ToolCall } from '@countersign/domain';
import type { ReadinessCheck } from '@countersign/shell';
import type { GatewayPorts } from './ports.js';

/** The pending approvals of all tenants for which too few approvers are left. */
export interface WithoutApprovers {
  readonly count: () => number;
  /** The process is ready: it serves all other approvals. */
  readonly check: ReadinessCheck;
}

/** A look takes about as long. Attack: a pile of pending approvals makes each scrape slow. */
const lookMsMax = 20;
const pageSize = 20;

interface Found {
  readonly count: number;
  /** The oldest one of the first tenant. */
  readonly first: { readonly approvalId: string; readonly detail: string } | null;
}

/**
 * Looks through the pending approvals at each scrape and each look at readiness, a part of them at a time. What it says is
 * of the last pass that reached the end.
 */
export function createWithoutApprovers(ports: GatewayPorts): WithoutApprovers {
  let found: Found = { count: 0, first: null };
  let pass: Generator<undefined, Found> | undefined;
  const look = (): Found => {
    const endMs = ports.clock.monotonic() + lookMsMax;
    pass ??= passOver(ports);
    for (;;) {
      const step = pass.next();
      if (step.done === true) {
        pass = undefined;
        say(ports, found, step.value);
        found = step.value;
        return found;
      }
      if (ports.clock.monotonic() >= endMs) return found;
    }
  };
  return {
    count: () => look().count,
    check: {
      name: 'approvers-left',
      check: () => {
        const { count, first } = look();
        if (first === null) return { status: 'ok' };
        const pending = count === 1 ? '1 pending approval' : `${String(count)} pending approvals`;
        return {
          status: 'ok',
          note: `too few approvers are left for ${pending}, first ${first.approvalId}: ${first.detail}`,
        };
      },
    },
  };
}

/** One pass over all pending approvals. Yields after each page. */
function* passOver({ readModel, commands, clock }: GatewayPorts): Generator<undefined, Found> {
  let found: Found = { count: 0, first: null };
  for (const tenant of readModel.tenantsAsked()) {
    const approvers = allApproversOf(commands, tenant);
    if (approvers === null) continue;
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = readModel.listApprovals(tenant, { limit: pageSize, cursor });
      if (page.status !== 'page') break;
      for (const { call, approval } of page.rows) {
        const missing = missingApprovers({ ...commands, clock }, call as unknown as ToolCall, approval, approvers);
        if (missing === null) continue;
        const first = found.first ?? { approvalId: approval.approvalId, detail: missing.detail };
        found = { count: found.count + 1, first };
      }
      cursor = page.nextCursor;
      yield undefined;
    }
  }
  return found;
}

function say({ log }: GatewayPorts, before: Found, { count, first }: Found): void {
  if (first === null || count <= before.count) return;
  const remedy = 'add approvers to the groups that are asked, or cancel the calls';
  log.warn({ count, ...first, remedy }, 'too few approvers are left for pending approvals');
}
