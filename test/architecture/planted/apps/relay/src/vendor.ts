// breaks: vendor-eventstore-db-client
import * as it from '@eventstore/db-client';
export const used = it;
