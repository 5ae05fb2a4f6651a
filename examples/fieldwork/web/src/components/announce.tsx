/** One line at the bottom that says what has just been done, read out politely and gone after a while. */
import { createContext, type ReactNode, useCallback, useContext, useEffect, useState } from 'react';

const SHOWN_FOR_MS = 5_000;

const AnnounceContext = createContext<(text: string) => void>(() => undefined);

/** Returns the function that announces a text. */
export function useAnnounce(): (text: string) => void {
  return useContext(AnnounceContext);
}

export function AnnounceProvider({ children }: { children: ReactNode }) {
  const [said, setSaid] = useState<{ text: string; at: number } | null>(null);
  const say = useCallback((text: string) => setSaid({ text, at: performance.now() }), []);
  useEffect(() => {
    if (!said) return undefined;
    const timer = setTimeout(() => setSaid(null), SHOWN_FOR_MS);
    return () => clearTimeout(timer);
  }, [said]);
  return (
    <AnnounceContext value={say}>
      {children}
      <div className="announcement" role="status" aria-live="polite">
        {said && <p key={said.at}>{said.text}</p>}
      </div>
    </AnnounceContext>
  );
}
