// breaks: nothing
import { createGateway } from '@countersign/gateway';
import { start } from '@countersign/shell';
export const used = [createGateway, start];
