/** The first records of a list in another page, with the way to all of them and to a new one. */
import type { DeclaredKind } from '../../src/wire/declared.ts';
import { operationOf, useApp } from '../lib/app-context.tsx';
import type { JsonRecord } from '../lib/forms.ts';
import { useLoad } from '../lib/hooks.ts';
import { spoken, t } from '../lib/language.ts';
import { usualColumns } from '../lib/lists.ts';
import { shownOf, titleOf } from '../lib/values.ts';
import { Icon, Link, RefusalNote } from './basics.tsx';

const SHOWN = 5;
/** Beside its title, a line shows so many fields. */
const DETAILS = 3;

export function ShortList({
  kind,
  query = {},
  leaveOut,
}: {
  readonly kind: DeclaredKind;
  readonly query?: Readonly<Record<string, string>>;
  /** A field that is the same on every line. */
  readonly leaveOut?: string;
}) {
  const { declaration } = useApp();
  const narrowed = new URLSearchParams(query).toString();
  const path = `${kind.path}?${new URLSearchParams({ ...query, limit: String(SHOWN) })}`;
  const { value, refusal, reload } = useLoad<{ items: readonly JsonRecord[]; nextCursor: string | null }>(
    path,
  );
  const suffix = narrowed === '' ? '' : `?${narrowed}`;
  const columns = usualColumns(kind).filter((name) => name !== kind.title && name !== leaveOut);
  const textOf = (item: JsonRecord, name: string): string => {
    const field = kind.fields.find((each) => each.name === name);
    return field ? shownOf(field, item[name], spoken) : '';
  };
  return (
    <section className="card" aria-labelledby={`list-${kind.type}-${leaveOut ?? ''}`}>
      <div className="card-head">
        <h2 id={`list-${kind.type}-${leaveOut ?? ''}`}>
          <Link to={`${kind.page}${suffix}`}>{kind.several}</Link>
        </h2>
        {operationOf(declaration, `${kind.type}/create`) && (
          <Link className="button quiet" to={`${kind.page}/new${suffix}`}>
            <Icon name="plus" />
            {t.add(kind.singular)}
          </Link>
        )}
      </div>
      {refusal && <RefusalNote refusal={refusal} retry={reload} />}
      {value?.items.length === 0 && <p className="soft">{t.emptyTitle(kind.several)}</p>}
      <ul className="lines">
        {value?.items.map((item) => (
          <li key={item.id as string}>
            <Link className="line" to={`${kind.page}/${item.id}`}>
              <span className="line-title">{titleOf(kind, item, spoken)}</span>
              <span className="soft">
                {columns
                  .map((name) => textOf(item, name))
                  .filter((text) => text !== '')
                  .slice(0, DETAILS)
                  .join(' · ')}
              </span>
            </Link>
          </li>
        ))}
      </ul>
      {value?.nextCursor && (
        <Link className="button quiet" to={`${kind.page}${suffix}`}>
          {t.all}
        </Link>
      )}
    </section>
  );
}
