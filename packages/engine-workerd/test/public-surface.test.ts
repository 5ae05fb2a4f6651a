/** The public surface inside workerd: the same statements as on Node. */
import { describePublicSurface } from '../../vertical-host/test/public/public-surface-contract.ts';

describePublicSurface();
