/** One record: its fields, what can be done with it now, what belongs to it, its files and its history. */
import type { DeclaredKind } from '../../src/wire/declared.ts';
import { Button, Crumbs, Link, PageHead, RefusalNote } from '../components/basics.tsx';
import { Files } from '../components/files.tsx';
import { History, type HistoryPage, historyAddress } from '../components/history.tsx';
import { OperationButton, perform, type Subject } from '../components/operation-button.tsx';
import { ShortList } from '../components/short-list.tsx';
import { Value } from '../components/value.tsx';
import { ask, asRefusal, isNotHere } from '../lib/api.ts';
import { operationOf, ownOperations, useApp } from '../lib/app-context.tsx';
import type { JsonRecord } from '../lib/forms.ts';
import { useKeys, useLoad } from '../lib/hooks.ts';
import { locale, spoken, t } from '../lib/language.ts';
import { navigate } from '../lib/router.ts';
import { momentText, titleOf } from '../lib/values.ts';
import { NotHere } from './not-here.tsx';

interface Shown {
  readonly record: JsonRecord;
  readonly version: string | null;
  /** The operations that the reader may perform on it now. */
  readonly offered: readonly string[];
}

export function RecordPage({ kind, id }: { readonly kind: DeclaredKind; readonly id: string }) {
  const path = `${kind.path}/${encodeURIComponent(id)}`;
  const { value, refusal, reload } = useLoad(path, async (address, signal): Promise<Shown> => {
    const [read, offered] = await Promise.all([
      ask<JsonRecord>(address, { signal }),
      ask<{ operations: readonly string[] }>(`${address}/operations`, { signal }),
    ]);
    return { record: read.value, version: read.version, offered: offered.value.operations };
  });
  if (refusal && isNotHere(refusal)) return <NotHere kind={kind} />;
  if (refusal) return <RefusalNote refusal={refusal} retry={reload} />;
  return value && <Record key={id} {...{ kind, id, path, shown: value, reload }} />;
}

interface RecordProps {
  readonly kind: DeclaredKind;
  readonly id: string;
  readonly path: string;
  readonly shown: Shown;
  readonly reload: () => void;
}

function Record({ kind, id, path, shown, reload }: RecordProps) {
  const { declaration, notify } = useApp();
  const { record, version, offered } = shown;
  const events = historyAddress(path);
  const history = useLoad<HistoryPage>(events);
  const after = () => {
    reload();
    history.reload();
  };
  const subject: Subject = { id, version };
  const may = (verb: string) => offered.includes(`${kind.type}/${verb}`);
  const edit = () => navigate(`${kind.page}/${id}/edit`);
  useKeys({ e: may('update') ? edit : undefined });

  const put = async (verb: 'archive' | 'unarchive'): Promise<void> => {
    const operation = operationOf(declaration, `${kind.type}/${verb}`);
    if (!operation) return;
    try {
      await perform(operation, { input: {}, subject: { id, version: null }, key: crypto.randomUUID() });
      notify({
        text: verb === 'archive' ? t.archived(1) : t.unarchived(1),
        undo: () => put(verb === 'archive' ? 'unarchive' : 'archive'),
      });
    } catch (error) {
      notify({ text: asRefusal(error).message, isBad: true });
    }
    after();
  };
  const files = kind.attachments;
  return (
    <>
      <Crumbs kind={kind} />
      <PageHead title={titleOf(kind, record, spoken)}>
        {ownOperations(declaration, kind.type)
          .filter(({ name }) => offered.includes(name))
          .map((operation) => (
            <OperationButton key={operation.name} {...{ operation, subject }} onDone={after} />
          ))}
        {may('update') && (
          <Link className="button main" to={`${kind.page}/${id}/edit`}>
            {t.edit}
          </Link>
        )}
        {may('archive') && <Button onClick={() => put('archive')}>{t.archive}</Button>}
        {may('unarchive') && <Button onClick={() => put('unarchive')}>{t.unarchive}</Button>}
      </PageHead>
      {typeof record.archivedAt === 'string' && (
        <p className="note">{t.archivedSince(momentText(record.archivedAt, locale))}</p>
      )}
      <section className="card" aria-label={t.details}>
        <dl className="facts">
          {kind.fields
            .filter(({ name }) => name !== kind.title)
            .map((field) => (
              <div
                key={field.name}
                className={field.kind === 'text' || field.kind === 'json' ? 'wide' : undefined}
              >
                <dt>{field.label}</dt>
                <dd>
                  <Value field={field} value={record[field.name]} />
                </dd>
              </div>
            ))}
        </dl>
        <p className="soft small">
          {t.createdAt}: {momentText(String(record.createdAt), locale)}
          {record.updatedAt !== record.createdAt && (
            <>
              {' · '}
              {t.updatedAt}: {momentText(String(record.updatedAt), locale)}
            </>
          )}
        </p>
      </section>
      <Related kind={kind} id={id} />
      {files && <Files path={`${path}/attachments`} may={files} onChange={history.reload} />}
      <History kind={kind} address={events} first={history} />
    </>
  );
}

/** The lists of other records that name this one, as far as they can be narrowed by it. */
function Related({ kind, id }: { readonly kind: DeclaredKind; readonly id: string }) {
  const { declaration } = useApp();
  return declaration.kinds.flatMap((other) =>
    other.fields
      .filter(
        ({ name, kind: valueKind, target }) =>
          valueKind === 'relation' &&
          target === kind.type &&
          other.filters.some((names) => names.length === 1 && names[0] === name) &&
          operationOf(declaration, `${other.type}/list`) !== undefined,
      )
      .map((field) => (
        <ShortList
          key={`${other.type}.${field.name}`}
          kind={other}
          query={{ [field.name]: id }}
          leaveOut={field.name}
        />
      )),
  );
}
