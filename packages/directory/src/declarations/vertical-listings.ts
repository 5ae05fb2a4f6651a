/** How a vertical is shown to tenants, and whether they can have new instances of it (spec 4.3; control-plane-routes, "Verticals"). */
import { slug } from '@freehold/contracts';
import { z } from 'zod';

export const tag = 'Verticals';

export const params = z.strictObject({ slug });
