import type { Route } from './route.js';
import { approvalRoutes } from './routes/approval.routes.js';
import { executionRoutes } from './routes/execution.routes.js';
import { grantRoutes } from './routes/grant.routes.js';
import { checkpointRoutes } from './routes/checkpoint.routes.js';
import { meRoutes } from './routes/me.routes.js';
import { peopleRoutes } from './routes/people.routes.js';
import { passkeyRoutes } from './routes/passkey.routes.js';
import { logRoutes } from './routes/log.routes.js';
import { operationsRoutes } from './routes/operations.routes.js';
import { oversightRoutes } from './routes/oversight.routes.js';
import { policyRoutes } from './routes/policy.routes.js';
import { receiptRoutes } from './routes/receipt.routes.js';
import { stopRoutes } from './routes/stop.routes.js';
import { subjectRoutes } from './routes/subject.routes.js';
import { tileRoutes } from './routes/tile.routes.js';
import { toolCallRoutes } from './routes/tool-call.routes.js';

/** Every route of the API, for the controllers, the guard and the OpenAPI document. */
export const routes = {
  ...toolCallRoutes,
  ...approvalRoutes,
  ...grantRoutes,
  ...executionRoutes,
  ...receiptRoutes,
  ...policyRoutes,
  ...oversightRoutes,
  ...subjectRoutes,
  ...stopRoutes,
  ...meRoutes,
  ...peopleRoutes,
  ...passkeyRoutes,
  ...logRoutes,
  ...checkpointRoutes,
  ...tileRoutes,
  ...operationsRoutes,
} as const;

/** All of them, in the order of the document. */
export const allRoutes: readonly Route[] = Object.values(routes);
