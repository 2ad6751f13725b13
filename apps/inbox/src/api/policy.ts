import type { ExplanationView, JsonObject, PolicyVersions, PolicyView } from '@countersign/contracts';
import { send } from './http.js';

/** A call to explain. It need not exist. */
export interface AskedCall {
  readonly toolName: string;
  readonly arguments: JsonObject;
  readonly agentId?: string;
  readonly runId?: string;
  readonly requestedBy?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly needsApproval?: boolean;
}

/** The policy in force. */
export const readPolicy = (signal?: AbortSignal): Promise<PolicyView> => send('GET', '/v1/policy', { signal });

/** Every activation of a policy, the latest first. */
export const listPolicyVersions = (signal?: AbortSignal): Promise<PolicyVersions> =>
  send('GET', '/v1/policy/versions', { signal });

/** The verdict on a call, and what each rule says of it. Nothing is recorded. */
export const explain = (call: AskedCall): Promise<ExplanationView> =>
  send('POST', '/v1/policy/explain', { body: call });
