import { randomUUID } from 'node:crypto';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';
import { cancelledBy, isReply, objectOf } from '../wire.js';
import { metaNames } from './protocol.js';

type Members = Readonly<Record<string, unknown>>;

/** The gate's own subscription at a stateless server. In a session the server tells of changes without one. */
export interface InnerListening {
  readonly begin: () => void;
  /** Adds a resource, or takes it out. */
  readonly watch: (uri: string, isWatched: boolean) => void;
  /** Takes a message of the subscription; returns whether it was one. */
  readonly take: (message: JSONRPCMessage) => boolean;
  readonly close: () => void;
}

/** The dependencies of the subscription. */
export interface InnerListeningPorts {
  readonly capabilities: Members;
  readonly sendRequest: (id: RequestId, method: string, params: Members) => Promise<void>;
  readonly send: (message: JSONRPCMessage) => Promise<void>;
  readonly toClient: (message: JSONRPCMessage) => void;
}

const firstPauseMs = 1_000;
const pauseMsMax = 60_000;

export function createInnerListening({
  capabilities,
  sendRequest,
  send,
  toClient,
}: InnerListeningPorts): InnerListening {
  const uris = new Set<string>();
  const lists = listsOf(capabilities);
  let hasBegun = false;
  let id: string | undefined;
  let pauseMs = firstPauseMs;
  let timer: NodeJS.Timeout | undefined;
  let isLater = false;

  const listen = (): void => {
    if (!hasBegun || (Object.keys(lists).length === 0 && uris.size === 0)) return;
    const now = `countersign-${randomUUID()}`;
    id = now;
    const notifications = { ...lists, ...(uris.size === 0 ? {} : { resourceSubscriptions: [...uris] }) };
    sendRequest(now, 'subscriptions/listen', { notifications }).catch(() => {
      ended(now);
    });
    // What changed while no subscription was open was not told.
    if (isLater && 'toolsListChanged' in lists)
      toClient({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    isLater = true;
  };
  const ended = (which: unknown): void => {
    if (which !== id) return;
    id = undefined;
    timer = setTimeout(listen, pauseMs).unref();
    pauseMs = Math.min(pauseMs * 2, pauseMsMax);
  };
  const stop = (): void => {
    clearTimeout(timer);
    const requestId = id;
    id = undefined;
    if (requestId === undefined) return;
    send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }).catch(() => undefined);
  };
  return {
    begin: () => {
      hasBegun = true;
      listen();
    },
    watch: (uri, isWatched) => {
      if (isWatched) uris.add(uri);
      else uris.delete(uri);
      stop();
      listen();
    },
    take: (message) => {
      if (isReply(message)) {
        if (message.id === undefined || message.id !== id) return false;
        ended(message.id);
        return true;
      }
      const cancelled = cancelledBy(message);
      if (cancelled !== undefined) {
        ended(cancelled);
        return true;
      }
      const { [metaNames.subscriptionId]: of, ...meta } = objectOf(message.params?._meta);
      if (of === undefined || !('method' in message)) return false;
      pauseMs = firstPauseMs;
      const isAcknowledgement = message.method === 'notifications/subscriptions/acknowledged';
      if (of === id && !isAcknowledgement) toClient({ ...message, params: { ...message.params, _meta: meta } });
      return true;
    },
    close: () => {
      hasBegun = false;
      clearTimeout(timer);
    },
  };
}

function listsOf(capabilities: Members): Members {
  const changing = Object.entries({
    tools: 'toolsListChanged',
    prompts: 'promptsListChanged',
    resources: 'resourcesListChanged',
  });
  const told = changing.filter(([name]) => objectOf(capabilities[name])['listChanged'] === true);
  return Object.fromEntries(told.map(([, member]) => [member, true]));
}
