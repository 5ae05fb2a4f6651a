/** A request that says which scope and nothing else. */
import { scopeRef } from '@freehold/contracts';
import { z } from 'zod';

export const strictScopeRef = z.strictObject(scopeRef.shape);
