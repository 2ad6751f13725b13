import { approvalsHandler, createFrontEnd } from '@countersign/api-client';
import { agent } from '../../../../lib/countersign';
import { userOf } from '../../../../lib/user';

const frontEnd = createFrontEnd({ url: agent.url, token: process.env['COUNTERSIGN_FRONT_END_TOKEN'] || 'unset' });
const handler = approvalsHandler({ frontEnd, person: userOf });

export { handler as DELETE, handler as GET, handler as POST };
