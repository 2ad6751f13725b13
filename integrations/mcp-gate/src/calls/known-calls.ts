import { systemClock } from '@countersign/contracts/clock';
import { untilDone } from '@countersign/http-client';
import { createClient } from '@countersign/worker-sdk';
import type { ClientCall } from '../client/client-call.js';
import { attempts, type GateOptions } from './gate-options.js';
import { isForServer } from './is-for-server.js';
import { createRequestStates, ForeignStateError, type CalledAction, type RequestStates } from './request-state.js';
import { createSameCalls, type Attached, type CallRequest } from './same-calls.js';

/** The calls that the requests of one connection belong to. */
export interface KnownCalls {
  /** Finds the call of a request. Rejects with a `ForeignStateError`, and as `SameCalls.attach` throws. */
  readonly attach: (call: ClientCall, request: CallRequest) => Promise<FoundCall>;
  readonly seal: RequestStates['seal'];
}

/** The call of a request. */
export interface FoundCall {
  readonly attached: Attached;
  /** The rounds that a stateless client has waited for the call. */
  readonly round: number;
}

export function createKnownCalls(options: GateOptions): KnownCalls {
  const same = createSameCalls();
  const states = createRequestStates(options, systemClock.now);
  let labels: ClientCall['labels'] = {};
  /** An earlier process may have recorded calls of this run. */
  const remember = untilDone(async () => {
    if (!options.continuesRun) return;
    const ledger = createClient({ ...options, attempts });
    const views = ledger.eachToolCall({ runId: options.runId, order: 'oldest' });
    await same.remember(views, (view) => isForServer(view, options, labels));
  });
  /** Throws a `ForeignStateError`. */
  const waitingCall = ({ round }: ClientCall, action: CalledAction): ReturnType<RequestStates['open']> => {
    if (round?.state === undefined) return undefined;
    const waiting = states.open(round.state, action);
    if (waiting === undefined) throw new ForeignStateError();
    return waiting;
  };
  return {
    attach: async (call, { name, args, givenId }) => {
      ({ labels } = call);
      await remember();
      const waiting = waitingCall(call, { name, args });
      const request = { name, args, givenId: waiting?.toolCallId ?? givenId };
      return { attached: same.attach(request, call.delivered), round: waiting?.round ?? 0 };
    },
    seal: states.seal,
  };
}
