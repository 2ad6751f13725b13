// breaks: text-imports-ours
import type * as shapes from '@countersign/contracts';
export type Shapes = typeof shapes;
