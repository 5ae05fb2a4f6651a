/** The public surface on Node (spec D-12, D-13, D-14). */
import { describePublicSurface } from './public-surface-contract.ts';

describePublicSurface();
