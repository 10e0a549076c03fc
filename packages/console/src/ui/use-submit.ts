import { useState } from 'preact/hooks';

export interface Submit {
  onSubmit(event: Event): void;
  /** True after an attempt with mistakes. */
  isTried: boolean;
  /** The mistake as it is shown: an empty field is not called wrong before somebody wants to save. */
  shown(text: string, mistake: string | undefined): string | undefined;
}

/** A form can always be submitted, and then says what is wrong. A button that is off says nothing. */
export function useSubmit(isValid: boolean, work: () => void): Submit {
  const [isTried, setTried] = useState(false);
  return {
    isTried,
    shown: (text, mistake) => (text === '' && !isTried ? undefined : mistake),
    onSubmit(event) {
      event.preventDefault();
      setTried(!isValid);
      if (isValid) work();
    },
  };
}
