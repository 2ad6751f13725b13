// breaks: gateway-imports-ours
import * as it from '@countersign/projector';
export const used = it;
