/** Light or dark: what the system says, unless chosen here. The choice is the one thing that is kept in the browser. */
import { useEffect, useState } from 'preact/hooks';

export type Theme = 'system' | 'light' | 'dark';

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(() => {
    const chosen = document.documentElement.dataset.theme;
    return chosen === 'light' || chosen === 'dark' ? chosen : 'system';
  });
  useEffect(() => {
    if (theme === 'system') {
      delete document.documentElement.dataset.theme;
      localStorage.removeItem('theme');
    } else {
      document.documentElement.dataset.theme = theme;
      localStorage.setItem('theme', theme);
    }
    dispatchEvent(new Event('themechange'));
  }, [theme]);
  return [theme, setTheme];
}
