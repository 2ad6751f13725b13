import { ErrorCode, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { objectOf } from '../wire.js';
import type { Exchange } from './exchange.js';
import { metaNames } from './protocol.js';
import { failed, type RequestFacts } from './request-facts.js';

type Members = Readonly<Record<string, unknown>>;

/** The open requests `subscriptions/listen` of a connection. */
export interface Subscriptions {
  /** @param capabilities those of the server. */
  readonly open: (facts: RequestFacts, exchange: Exchange, capabilities: Members) => void;
  /** The client has left. */
  readonly close: (exchange: Exchange) => void;
  /** Sends a notification to the subscriptions that asked for it. */
  readonly tell: (message: JSONRPCMessage) => void;
  /** Ends all of them. */
  readonly end: () => void;
}

interface Subscription {
  readonly exchange: Exchange;
  readonly kinds: readonly string[];
  readonly uris: readonly string[];
}

/** The notifications about lists: the member of the filter, and the capability of the server. */
const listKinds = [
  { member: 'toolsListChanged', capability: 'tools', method: 'notifications/tools/list_changed' },
  { member: 'promptsListChanged', capability: 'prompts', method: 'notifications/prompts/list_changed' },
  { member: 'resourcesListChanged', capability: 'resources', method: 'notifications/resources/list_changed' },
] as const;

const subscriptionsMax = 256;
const urisMax = 256;

/** @param request makes a request of the gate itself to the server, such as `resources/subscribe`. */
export function createSubscriptions(request: (method: string, params: Members) => void): Subscriptions {
  const open = new Map<Exchange, Subscription>();
  const isWatched = (uri: string): boolean => [...open.values()].some(({ uris }) => uris.includes(uri));
  const close = (exchange: Exchange): void => {
    const subscription = open.get(exchange);
    open.delete(exchange);
    for (const uri of subscription?.uris ?? []) if (!isWatched(uri)) request('resources/unsubscribe', { uri });
  };
  return {
    open: ({ params }, exchange, capabilities) => {
      if (open.size >= subscriptionsMax) {
        exchange.reply(
          failed(ErrorCode.InternalError, `A connection has at most ${String(subscriptionsMax)} subscriptions`),
        );
        return;
      }
      const filter = objectOf(params['notifications']);
      const kinds = listKinds.filter(
        ({ member, capability }) =>
          filter[member] === true && objectOf(capabilities[capability])['listChanged'] === true,
      );
      const uris = watchableOf(filter, capabilities);
      for (const uri of uris) if (!isWatched(uri)) request('resources/subscribe', { uri });
      open.set(exchange, { exchange, kinds: kinds.map(({ method }) => method), uris });
      const notifications = {
        ...Object.fromEntries(kinds.map(({ member }) => [member, true])),
        ...(uris.length === 0 ? {} : { resourceSubscriptions: uris }),
      };
      notify(exchange, 'notifications/subscriptions/acknowledged', { notifications });
      void exchange.delivered.then(() => {
        close(exchange);
      });
    },
    close,
    tell: (message) => {
      if (!('method' in message)) return;
      const { method, params = {} } = message;
      for (const { exchange, kinds, uris } of open.values()) {
        const isOfResource = method === 'notifications/resources/updated' && uris.includes(String(params['uri']));
        if (kinds.includes(method) || isOfResource) notify(exchange, method, params);
      }
    },
    end: () => {
      for (const exchange of [...open.keys()]) {
        open.delete(exchange);
        exchange.reply({ result: { resultType: 'complete', _meta: { [metaNames.subscriptionId]: exchange.id } } });
      }
    },
  };
}

function watchableOf({ resourceSubscriptions: uris }: Members, capabilities: Members): readonly string[] {
  if (!Array.isArray(uris) || objectOf(capabilities['resources'])['subscribe'] !== true) return [];
  return [...new Set(uris.filter((uri) => typeof uri === 'string'))].slice(0, urisMax);
}

function notify(exchange: Exchange, method: string, params: Members): void {
  const meta = { ...objectOf(params['_meta']), [metaNames.subscriptionId]: exchange.id };
  exchange.notify({ jsonrpc: '2.0', method, params: { ...params, _meta: meta } });
}
