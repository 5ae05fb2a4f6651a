/** The operations about all scopes at once (spec 4.3; design: control-plane-routes, "Scopes"). */
import { slug } from '@freehold/contracts';
import { z } from 'zod';

export const tag = 'Fleet';

export const counts = {
  vertical: slug,
  version: z.string().describe('The version that the scope is bound to, else the one that serves'),
  applied: z.int().describe('Scopes that were opened at this version and said so'),
  pending: z.int().describe('Scopes that no wave has opened since this version serves'),
  failed: z.int().describe('Scopes whose last wave they did not come out of'),
};
