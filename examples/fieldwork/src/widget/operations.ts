/** The list of web sites that may show the appointment form. It is read for every request of the form. */
import { operation } from '@freehold/kernel';
import type { SqlDatabase } from '@freehold/store';
import { z } from 'zod';
import { ADDRESSES } from '../lib/addresses.ts';
import { widgetInput, widgetOutput } from './schema.ts';

const entity = () => ({ type: 'widget', id: 'widget' });

export const widgetOperations = {
  'widget/get': operation({
    summary: 'Show which web sites may ask for appointments',
    input: z.strictObject({}),
    output: widgetOutput,
    permission: 'widget.read',
    entity,
    http: ADDRESSES['widget/get'],
    run: (ctx) => ({ origins: loadOrigins(ctx.sql) }),
  }),

  'widget/update': operation({
    summary: 'Change which web sites may ask for appointments',
    description: 'The list as it shall be; a site that is not on it is refused from then on.',
    input: widgetInput,
    output: widgetOutput,
    permission: 'widget.write',
    entity,
    http: ADDRESSES['widget/update'],
    run: (ctx, { origins }) => {
      ctx.sql.run('DELETE FROM widget_origins');
      for (const [place, origin] of origins.entries())
        ctx.sql.run('INSERT INTO widget_origins (place, origin) VALUES (?, ?)', place, origin);
      ctx.emit({ type: 'widget.updated', entity: entity(), payload: { origins: origins.length } });
      return { origins };
    },
  }),
};

function loadOrigins(sql: SqlDatabase): string[] {
  return sql
    .all<{ origin: string }>('SELECT origin FROM widget_origins ORDER BY place')
    .map(({ origin }) => origin);
}
