/** Reading and changing what work is charged at. Drafts keep the rates they were made with. */
import { operation } from '@freehold/kernel';
import { z } from 'zod';
import { ADDRESSES } from '../lib/addresses.ts';
import { ratesFields, ratesOutput } from './schema.ts';
import { loadRates, saveRates } from './store.ts';

const entity = () => ({ type: 'rates', id: 'rates' });

export const ratesOperations = {
  'rates/get': operation({
    summary: 'Show what work is charged at',
    input: z.strictObject({}),
    output: ratesOutput,
    permission: 'rates.read',
    entity,
    http: ADDRESSES['rates/get'],
    run: (ctx) => loadRates(ctx.sql),
  }),

  'rates/update': operation({
    summary: 'Change what work is charged at',
    input: z.strictObject(ratesFields),
    output: ratesOutput,
    permission: 'rates.write',
    entity,
    http: ADDRESSES['rates/update'],
    run: (ctx, rates) => {
      saveRates(ctx.sql, rates);
      ctx.emit({ type: 'rates.updated', entity: entity(), payload: rates });
      return rates;
    },
  }),
};
