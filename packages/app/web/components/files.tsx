/** The files of a record: shown, added (also by dropping them), removed after a question. */
import { useRef, useState } from 'react';
import type { AttachmentList } from '../../src/wire/wire.ts';
import { ask, asRefusal } from '../lib/api.ts';
import { useApp } from '../lib/app-context.tsx';
import { useLoad } from '../lib/hooks.ts';
import { locale, t } from '../lib/language.ts';
import { momentText } from '../lib/values.ts';
import { Button, Icon, RefusalNote } from './basics.tsx';

export function Files({
  path,
  may,
  onChange,
}: {
  readonly path: string;
  readonly may: { readonly write: boolean; readonly remove: boolean };
  readonly onChange: () => void;
}) {
  const { notify } = useApp();
  const { value, refusal, reload } = useLoad<AttachmentList>(path);
  const [sending, setSending] = useState<string | null>(null);
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);

  const add = async (files: readonly File[]): Promise<void> => {
    for (const file of files) {
      if (value && file.size > value.bytesMax) {
        notify({ text: t.tooLarge(file.name, bytesText(value.bytesMax)), isBad: true });
        continue;
      }
      setSending(file.name);
      try {
        await ask(`${path}?${new URLSearchParams({ filename: file.name })}`, { file });
        notify({ text: t.fileAdded(file.name) });
      } catch (error) {
        notify({ text: `${file.name}: ${asRefusal(error).message}`, isBad: true });
      }
    }
    setSending(null);
    reload();
    onChange();
  };
  const remove = async (id: string, name: string): Promise<void> => {
    if (!confirm(t.removeFileSure(name))) return;
    try {
      await ask(`${path}/${id}/remove`, { body: {} });
      notify({ text: t.fileRemoved(name) });
    } catch (error) {
      notify({ text: asRefusal(error).message, isBad: true });
    }
    reload();
    onChange();
  };
  return (
    <section
      className={`card ${isOver ? 'over' : ''}`}
      aria-labelledby="files"
      onDragOver={(event) => {
        if (!may.write) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        if (!may.write) return;
        event.preventDefault();
        setOver(false);
        void add([...event.dataTransfer.files]);
      }}
    >
      <div className="card-head">
        <h2 id="files">{t.files}</h2>
        {may.write && (
          <div className="row">
            <Button look="quiet" busy={sending !== null} onClick={() => input.current?.click()}>
              <Icon name="plus" />
              {t.addFile}
            </Button>
            <span className="soft small only-wide">{t.dropFile}</span>
            <input
              ref={input}
              type="file"
              multiple
              hidden
              aria-label={t.addFile}
              onChange={(event) => {
                const files = [...(event.target.files ?? [])];
                event.target.value = '';
                void add(files);
              }}
            />
          </div>
        )}
      </div>
      {refusal && <RefusalNote refusal={refusal} retry={reload} />}
      <p role="status" className={sending === null ? 'said' : 'soft'}>
        {sending === null ? '' : t.uploading(sending)}
      </p>
      {value?.items.length === 0 && <p className="soft">{t.noFiles}</p>}
      <ul className="files">
        {value?.items.map(({ id, filename, bytes, image, by, at }) => (
          <li key={id}>
            {image ? (
              <img src={`${path}/${id}?show=inline`} alt="" loading="lazy" width="48" height="48" />
            ) : (
              <Icon name="file" />
            )}
            <span className="grow">
              <a className="file-name" href={`${path}/${id}`} download={filename}>
                {filename}
              </a>
              <span className="soft small">
                {bytesText(bytes)} · {by.name ?? t.someone} · {momentText(at, locale)}
              </span>
            </span>
            {may.remove && (
              <Button
                look="quiet"
                className="square"
                aria-label={t.removeFile(filename)}
                onClick={() => remove(id, filename)}
              >
                <Icon name="close" />
              </Button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** 1,234,567 → 1.2 MB */
function bytesText(bytes: number): string {
  const [value, unit] =
    bytes < 1_000
      ? [bytes, 'byte']
      : bytes < 1_000_000
        ? [bytes / 1e3, 'kilobyte']
        : [bytes / 1e6, 'megabyte'];
  return new Intl.NumberFormat(locale, { style: 'unit', unit, maximumFractionDigits: 1 }).format(value);
}
