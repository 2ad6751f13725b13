import type { JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import type { FakeCountersign } from '@countersign/worker-sdk/testing';
import type { GateOptions } from '../calls/gate-options.js';
import { objectOf } from '../wire.js';
import { openStatelessWire, sessionServer } from './stateless-wire.js';
import { until } from './until.js';

/** The capabilities of a client that takes tasks. */
export const tasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const ends = ['completed', 'failed', 'cancelled'];

type Members = Readonly<Record<string, unknown>>;

/** How the two sides are. */
export interface TaskPlaceOptions extends Partial<GateOptions> {
  /** Calls of `pay` get no reply by themselves. */
  readonly holds?: boolean;
  /** The results of the server in place of its own. */
  readonly answers?: (request: JSONRPCRequest) => object | undefined;
  readonly countersign?: FakeCountersign;
}

/** A client that takes tasks, and a server of sessions with the tools `pay` and `read`. */
export async function openTaskPlace({ holds = false, answers, countersign, ...more }: TaskPlaceOptions = {}) {
  const ran: unknown[] = [];
  const answer = sessionServer(ran, answers);
  const isHeld = ({ method, params }: JSONRPCRequest) => holds && method === 'tools/call' && params?.['name'] === 'pay';
  const place = await openStatelessWire(
    (request) => (isHeld(request) ? undefined : answer(request)),
    more,
    countersign,
  );
  const ask = async (method: string, params: Members, capabilities: object = tasks): Promise<Members> => {
    const { result, error } = await place.ask(method, params, capabilities);
    return objectOf(result ?? error);
  };
  const call = (amount: number, others: Members = {}) =>
    ask('tools/call', { name: 'pay', arguments: { amount }, ...others });
  const get = (taskId: unknown, capabilities: object = tasks) => ask('tasks/get', { taskId }, capabilities);
  const reaches = async (taskId: unknown, status: string): Promise<Members> => {
    for (;;) {
      const task = await get(taskId);
      if ([status, ...ends, 'undefined'].includes(String(task['status']))) return task;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const approve = (): void => {
    place.countersign.approve(place.asked[0]!.toolCallId);
  };
  /** Returns the first held call at the server. */
  const held = async (): Promise<JSONRPCRequest> => {
    await until(() => place.heard.some(isHeld));
    return place.heard.find(isHeld)!;
  };
  return { ...place, ran, ask, call, get, reaches, approve, held };
}
